"""More of what the tiny model imitates: one goal of each kind that a household has, split in three ways. An example of
the same kind is worth more to it than any instruction. In each line a bar parts the opening, which the answer takes
over, from the ending, which it must not copy."""

from msgspec import Struct


class Domain(Struct, frozen=True):
    """One kind of goal. *cues*: word stems that tell it. *goal*: the example. *lists*: by strategy, parts."""

    cues: frozenset[str]
    goal: str
    lists: dict[str, tuple[str, ...]]


def _cues(words: str) -> frozenset[str]:
    return frozenset(words.split())


DOMAINS: tuple[Domain, ...] = (
    Domain(
        _cues("trip travel journey holiday vacation tour hike camp island beach visit weekend flight abroad"),
        "Go walking in Scotland for ten days",
        {
            "by activity": (
                "Choose| the islands and the footpaths to walk",
                "Book| the night train and six youth hostels",
                "Pack| rain jackets, maps and a first-aid kit",
                "Learn| how to read a map in the fog",
            ),
            "by time": (
                "Two months before,| choose the islands and ask for leave from work",
                "One month before,| book the night train and the youth hostels",
                "In the last week,| pack the rucksacks and look at the weather",
                "During the trip,| walk every second day and keep a diary",
            ),
            "by place": (
                "At home:| study the maps and pack the rucksacks",
                "Online:| book the night train and the youth hostels",
                "In town:| buy boots and change money into pounds",
                "On arrival:| find the hostel and ask for the bus times",
            ),
        },
    ),
    Domain(
        _cues("renovat bathroom kitchen room wall floor roof paint build repair house attic window door shed tile"),
        "Turn the attic into a study",
        {
            "by activity": (
                "Measure| the floor and the slope of the roof",
                "Remove| the old boards and the dusty boxes",
                "Buy| insulation, plasterboard and two roof windows",
                "Install| sockets, lamps and a long desk",
            ),
            "by time": (
                "First,| measure the attic and draw a plan of it",
                "Then,| take out the old boards and carry them away",
                "Next,| put in insulation, cables and roof windows",
                "Finally,| paint the walls and carry up the desk",
            ),
            "by place": (
                "At home:| measure the attic and clear out the boxes",
                "Online:| compare roof windows and ask for three offers",
                "In the hardware store:| buy plasterboard, screws and paint",
                "On site:| put up the walls and lay the carpet",
            ),
        },
    ),
    Domain(
        _cues("party birthday wedd celebrat festival concert dinner guest surprise anniversary christmas ceremony"),
        "Hold a farewell evening for a colleague",
        {
            "by activity": (
                "Invite| the whole office without telling him",
                "Book| the back room of the pub for Friday",
                "Order| cold plates, lemonade and a cheese board",
                "Prepare| a short speech and a parting present",
            ),
            "by time": (
                "One month before,| choose the evening and ask the office",
                "Two weeks before,| book the pub and order the cold plates",
                "The day before,| wrap the present and rehearse the speech",
                "On the day,| hang up the banner and welcome everyone",
            ),
            "by place": (
                "At home:| write the speech and wrap the present",
                "Online:| collect money and order the banner",
                "In town:| buy lemonade, cheese and candles",
                "At the venue:| set the tables and test the microphone",
            ),
        },
    ),
    Domain(
        _cues("write specification specify software app document report book article thesis website program design"),
        "Write the requirements for a car-sharing website",
        {
            "by activity": (
                "Ask| drivers and car owners what they miss today",
                "List| the functions for booking, paying and cancelling",
                "Describe| which data is kept about cars and drivers",
                "Define| a test for every function on the list",
            ),
            "by time": (
                "First,| interview ten drivers and three car owners",
                "Then,| write down who may book, pay and cancel",
                "Next,| draw the pages for search and payment",
                "Finally,| review the requirements with the owners",
            ),
            "by place": (
                "At the desk:| write the list of functions and their limits",
                "With the users:| watch drivers book a car by telephone",
                "In the meeting:| agree which functions come first",
                "On screen:| draw the pages for search and payment",
            ),
        },
    ),
    Domain(
        _cues("fit learn train health exercise sport weight run habit spanish french language practis study healthy"),
        "Learn to swim as an adult",
        {
            "by activity": (
                "Find| a heated pool with a patient teacher",
                "Practise| breathing and floating twice a week",
                "Buy| goggles, a cap and a season ticket",
                "Measure| how many lengths are possible each month",
            ),
            "by time": (
                "In the first week,| visit the pool and book a teacher",
                "In the first month,| practise breathing and floating",
                "After three months,| swim four lengths without a pause",
                "After half a year,| swim across the lake with a friend",
            ),
            "by place": (
                "At home:| plan two free evenings and pack the bag",
                "Online:| compare pools and book the lessons",
                "In town:| buy goggles and a season ticket",
                "In the pool:| practise breathing, floating and turning",
            ),
        },
    ),
    Domain(
        _cues("move clean tidy flat apartment declutter remov pack household wash grandmother cellar"),
        "Empty grandfather's old house",
        {
            "by activity": (
                "Sort| the clothes, letters and tools into piles",
                "Pack| the china and the paintings into crates",
                "Clean| the stairs, the oven and the cellar",
                "Arrange| a van and a skip for the rubbish",
            ),
            "by time": (
                "One month before,| go through the letters and photographs",
                "Two weeks before,| give the furniture to relatives",
                "The day before,| pack the china and sweep the cellar",
                "On the day,| load the van and hand over the keys",
            ),
            "by place": (
                "In the bedroom:| fold the clothes and strip the beds",
                "In the kitchen:| wrap the china and scrub the oven",
                "In the cellar:| sort the tools and throw out old paint",
                "Online:| order a skip and cancel the newspaper",
            ),
        },
    ),
    Domain(
        _cues("sell buy car bike second-hand auction purchase price market"),
        "Sell grandmother's piano",
        {
            "by activity": (
                "Clean| the keys and polish the wooden lid",
                "Find| out what such a piano fetches today",
                "Write| an advertisement with five photographs",
                "Agree| on the price and the day of collection",
            ),
            "by time": (
                "First,| have the piano tuned and polish the lid",
                "Then,| compare prices and take five photographs",
                "Next,| advertise it and answer the callers",
                "Finally,| sign a receipt and help to carry it out",
            ),
            "by place": (
                "At home:| polish the lid and take photographs",
                "Online:| compare prices and place an advertisement",
                "In town:| ask two music shops for an offer",
                "At the door:| show the piano and count the money",
            ),
        },
    ),
    Domain(
        _cues("meal food cook menu diet recipe eat lunch breakfast kitchen bake"),
        "Cook lunch for twelve builders every day",
        {
            "by activity": (
                "Choose| ten hot dishes that fill hungry people",
                "Write| a shopping list for two weeks of stew",
                "Buy| potatoes, beans and bread in large sacks",
                "Cook| soup and rice the evening before",
            ),
            "by time": (
                "On Sunday,| choose the dishes and write the list",
                "On Monday,| buy potatoes, beans and bread",
                "Every evening,| peel the vegetables and soak the beans",
                "At noon,| warm the soup and serve the builders",
            ),
            "by place": (
                "At the table:| choose ten dishes with the builders",
                "In the shop:| buy potatoes, beans and bread in sacks",
                "In the kitchen:| peel the vegetables and cook the soup",
                "In the freezer:| keep four portions for a busy day",
            ),
        },
    ),
    Domain(
        _cues("garden plant vegetable grow flower tree lawn compost soil"),
        "Grow strawberries on a balcony",
        {
            "by activity": (
                "Choose| a sunny corner and three kinds of strawberry",
                "Buy| boxes, potting earth and twelve young plants",
                "Plant| the strawberries a hand's width apart",
                "Water| the boxes every morning and pick off snails",
            ),
            "by time": (
                "In winter,| choose the kinds and order young plants",
                "In spring,| fill the boxes and plant the strawberries",
                "In summer,| water the boxes and pick the fruit",
                "In autumn,| cut back the leaves and cover the roots",
            ),
            "by place": (
                "At home:| draw where the boxes will hang",
                "At the garden centre:| buy earth and young plants",
                "In the beds:| plant, water and mulch the strawberries",
                "In the shed:| keep the tools and the fertiliser",
            ),
        },
    ),
    Domain(
        _cues("backup computer data network system photo document phone internet file digital password"),
        "Bring wireless internet to every room of a guesthouse",
        {
            "by activity": (
                "Measure| the signal on each floor of the guesthouse",
                "Choose| a router and four access points",
                "Install| the access points and label the cables",
                "Test| the speed in every room with two phones",
            ),
            "by time": (
                "First,| list the rooms and measure the signal",
                "Then,| compare and order the access points",
                "Next,| lay the cables and set the passwords",
                "Finally,| test every room and write a guide for guests",
            ),
            "by place": (
                "At the desk:| compare routers and draw the floors",
                "In the shop:| buy cables and four access points",
                "On the computer:| set the passwords and update the router",
                "In another building:| keep a spare router and the guide",
            ),
        },
    ),
    Domain(
        _cues("group volunteer club association school neighbourhood children community scout member cafe"),
        "Found a village choir",
        {
            "by activity": (
                "Find| twenty singers and a patient conductor",
                "Rent| the parish hall on Tuesday evenings",
                "Raise| money for sheet music and a keyboard",
                "Agree| on rules for fees, keys and insurance",
            ),
            "by time": (
                "In the first month,| find singers and a conductor",
                "In the second month,| rent the hall and buy sheet music",
                "After three months,| open an account and agree on fees",
                "After half a year,| give a first concert in the church",
            ),
            "by place": (
                "At the table:| write the rules and the list of songs",
                "Online:| look for singers and apply for money",
                "At the town hall:| register the choir and ask for a room",
                "In the hall:| rehearse every Tuesday and store the music",
            ),
        },
    ),
    Domain(
        _cues("bill electricity energy save cost expense reduce cut money budget debt heat insurance"),
        "Halve the water costs of a hostel",
        {
            "by activity": (
                "Measure| what the showers and the laundry use",
                "Find| dripping taps and leaking pipes",
                "Replace| the old shower heads and two cisterns",
                "Remind| guests with a small sign in each shower",
            ),
            "by time": (
                "In the first week,| read the water meter every morning",
                "In the first month,| mend the taps and the cisterns",
                "After three months,| replace the shower heads",
                "After half a year,| compare the meter and the invoices",
            ),
            "by place": (
                "In the kitchen:| mend the tap and fill the dishwasher",
                "In the bathroom:| replace the shower heads",
                "In the cellar:| read the meter and close the old pipe",
                "Online:| compare invoices and order new taps",
            ),
        },
    ),
)

INNER_GOALS = (
    "Go walking in Scotland for ten days: book the night train and the hostels",
    "Found a village choir: rent the parish hall",
)
"""Tasks below a goal, which are small; the parts of each are in `INNER`."""

INNER: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "by activity": (
        (
            "Look up| departure times of the night train",
            "Compare| the prices of six hostels",
            "Reserve| two beds in a sleeping car",
            "Print| the tickets and the hostel addresses",
        ),
        (
            "Look up| who looks after the parish hall",
            "Compare| the hall with the school canteen",
            "Reserve| Tuesday evenings until the summer",
            "Print| the rules for heating and keys",
        ),
    ),
    "by time": (
        (
            "First,| find out when the night train leaves",
            "Then,| choose a hostel for each stop",
            "Next,| pay the deposits with one card",
            "Finally,| print the tickets and addresses",
        ),
        (
            "First,| telephone the priest about the hall",
            "Then,| look at the room and its piano",
            "Next,| sign the agreement and pay the deposit",
            "Finally,| collect the key and tell the singers",
        ),
    ),
}
