"""A plan without a model, for goals that the tiny one cannot read: the steps of any undertaking, in the goal's
language, with questions to answer instead of invented answers. It says what it is wherever it speaks."""

from msgspec import Struct

from swarmd.events.kinds import Subgoal
from swarmd.roles.checks import asks_nothing
from swarmd.roles.language import language
from swarmd.roles.strategies import STRATEGIES
from swarmd.roles.work import CHECKLIST, Compose, Execute, Propose
from swarmd.vocab import limits
from swarmd.vocab.text import clean, cut

MODEL = CHECKLIST
_NOTHING = "This goal holds nothing that could be planned."


class Checklist(Struct, frozen=True, kw_only=True):
    """*label*: what this is, in a sentence. *steps*: titles with the text that stands for their result. *other*: the
    text for a task that is none of the steps. *open*: that a part is not done."""

    label: str
    steps: tuple[tuple[str, str], ...]
    other: str
    open: str


CHECKLISTS: dict[str, Checklist] = {
    "en": Checklist(
        label="General checklist, not worked out by a model: no model here can work on this goal.",
        steps=(
            (
                "Write down what is wanted in the end",
                "What shall be true at the end, for whom, and by when? What does not belong to it? Two or three"
                " sentences are enough; whoever takes part should agree with them.",
            ),
            (
                "List what it takes: money, time, people, things",
                "What is there already, what must be bought, borrowed or asked for? Put an amount or a date to every"
                " line, and mark what takes long to get.",
            ),
            (
                "Put the steps in order and give them dates",
                "Which step needs another one first? Begin with what takes longest, and leave some days spare before"
                " the end.",
            ),
            (
                "Agree who does which part",
                "One name for every step, and a day on which you look at it together. Who steps in if somebody falls"
                " ill?",
            ),
            (
                "Carry it out and check the outcome",
                "Tick off what is done, note what turned out otherwise, and decide at once what follows from it. At the"
                " end compare with what was wanted.",
            ),
        ),
        other="This part has still to be worked out. What must come out of it, who does it, by when, and what is"
        " needed for it?",
        open="not done",
    ),
    "de": Checklist(
        label="Allgemeine Checkliste, nicht von einem Modell ausgearbeitet: Das Modell auf diesem Rechner kann nur"
        " Englisch.",
        steps=(
            (
                "Aufschreiben, was am Ende erreicht sein soll",
                "Was soll am Ende stimmen, für wen und bis wann? Was gehört nicht dazu? Zwei oder drei Sätze genügen;"
                " alle Beteiligten sollten ihnen zustimmen.",
            ),
            (
                "Bedarf zusammenstellen: Geld, Zeit, Helfer, Material",
                "Was ist schon da, was muss gekauft, geliehen oder erfragt werden? Zu jeder Zeile gehört ein Betrag"
                " oder ein Datum. Was lange dauert, wird markiert.",
            ),
            (
                "Die Schritte ordnen und mit Terminen versehen",
                "Welcher Schritt setzt einen anderen voraus? Mit dem beginnen, was am längsten dauert, und vor dem Ende"
                " einige Tage frei lassen.",
            ),
            (
                "Absprechen, wer welchen Teil übernimmt",
                "Zu jedem Schritt ein Name, und ein Tag, an dem alle gemeinsam darauf schauen. Wer springt ein, wenn"
                " jemand krank wird?",
            ),
            (
                "Durchführen und das Ergebnis prüfen",
                "Erledigtes abhaken, Abweichungen notieren und gleich entscheiden, was daraus folgt. Zum Schluss mit"
                " dem vergleichen, was gewollt war.",
            ),
        ),
        other="Dieser Teil ist noch auszuarbeiten. Was soll dabei herauskommen, wer macht es, bis wann, und was wird"
        " dafür gebraucht?",
        open="nicht erledigt",
    ),
    "uk": Checklist(
        label="Загальний список, не опрацьований моделлю: модель на цьому комп'ютері пише лише англійською.",
        steps=(
            (
                "Записати, чого треба досягти наприкінці",
                "Що має бути зроблено, для кого і до якого дня? Що сюди не входить? Достатньо двох чи трьох речень, з"
                " якими згодні всі учасники.",
            ),
            (
                "Скласти перелік потрібного: гроші, час, люди, речі",
                "Що вже є, а що треба купити, позичити чи попросити? Біля кожного рядка поставте суму або дату і"
                " позначте те, що довго чекати.",
            ),
            (
                "Розставити кроки за порядком і призначити дати",
                "Який крок неможливий без іншого? Почніть з того, що триває найдовше, і залиште кілька вільних днів"
                " перед кінцем.",
            ),
            (
                "Домовитися, хто за яку частину відповідає",
                "Для кожного кроку потрібне одне ім'я і день, коли ви разом перевірите зроблене. Хто допоможе, якщо"
                " хтось захворіє?",
            ),
            (
                "Виконати задумане й перевірити наслідки",
                "Відмічайте зроблене, записуйте, що вийшло інакше, і одразу вирішуйте, що з цього випливає. Наприкінці"
                " порівняйте з тим, чого хотіли.",
            ),
        ),
        other="Цю частину ще треба опрацювати. Що має вийти, хто це зробить, до якого дня і що для цього потрібно?",
        open="не зроблено",
    ),
    "vi": Checklist(
        label="Danh sách chung, không do mô hình soạn: mô hình trên máy này chỉ viết được tiếng Anh.",
        steps=(
            (
                "Ghi rõ kết quả cuối cùng mong muốn",
                "Cuối cùng phải đạt được điều gì, cho ai và đến ngày nào? Điều gì không thuộc về việc này? Chỉ cần hai"
                " hoặc ba câu mà mọi người đều đồng ý.",
            ),
            (
                "Liệt kê những thứ cần có: tiền bạc, thời gian, người giúp, đồ dùng",
                "Thứ gì đã có sẵn, thứ gì phải mua, mượn hoặc nhờ? Mỗi dòng ghi một số tiền hoặc một ngày, và đánh dấu"
                " những gì phải chờ lâu.",
            ),
            (
                "Sắp xếp các bước theo thứ tự và định ngày",
                "Bước nào phải chờ bước khác xong trước? Hãy bắt đầu với việc lâu nhất và để dành vài ngày trống trước"
                " khi kết thúc.",
            ),
            (
                "Thống nhất ai chịu trách nhiệm phần nào",
                "Mỗi bước cần một người đứng tên và một ngày để cùng nhau xem lại. Ai sẽ thay nếu có người bị ốm?",
            ),
            (
                "Thực hiện rồi kiểm tra lại",
                "Đánh dấu việc đã xong, ghi lại điều khác với dự tính và quyết định ngay phải làm gì. Sau cùng so sánh"
                " với điều đã mong muốn.",
            ),
        ),
        other="Phần này vẫn phải được soạn tiếp. Cần đạt được gì, ai làm, đến ngày nào và cần những gì?",
        open="chưa xong",
    ),
    "ja": Checklist(
        label="一般的なチェックリストです。モデルが作成したものではありません（この機器のモデルは英語しか書けません）。",
        steps=(
            (
                "最終的に何を実現したいかを書き出す",
                "最後にどうなっていればよいか、誰のためか、いつまでかを二、三の文で書きます。含まないことも書き、関わる人"
                "全員の同意を得てください。",
            ),
            (
                "必要なお金・時間・人手・物を一覧にする",
                "すでにあるもの、買うもの、借りるもの、頼むものに分けます。それぞれに金額か日付を付け、時間のかかるものに"
                "印を付けてください。",
            ),
            (
                "手順を並べて日程を決める",
                "どの手順が他の手順を先に必要とするかを考えます。最も時間のかかることから始め、終わりの前に予備の日を残して"
                "ください。",
            ),
            (
                "誰がどの部分を担当するか話し合う",
                "手順ごとに担当者を一人決め、一緒に確認する日を決めます。誰かが病気のときに代わる人も決めてください。",
            ),
            (
                "実行して結果を確かめる",
                "終わったものに印を付け、予定と違ったことを記録し、次にすることをすぐに決めます。最後に、望んでいたことと比べて"
                "ください。",
            ),
        ),
        other="この部分はまだ作成されていません。何を得たいか、誰が、いつまでに行い、何が必要かを書いてください。",
        open="未完了",
    ),
    "ar": Checklist(
        label="قائمة عامة لم يضعها نموذج: النموذج الموجود على هذا الجهاز يكتب بالإنجليزية فقط.",
        steps=(
            (
                "اكتب النتيجة المطلوبة في النهاية",
                "ما الذي يجب أن يتحقق في النهاية، ولمن، وقبل أي يوم؟ وما الذي لا يدخل فيه؟ تكفي جملتان أو ثلاث يوافق"
                " عليها كل المشاركين.",
            ),
            (
                "أعد قائمة بما يلزم: المال والوقت والأشخاص والأشياء",
                "ما المتوفر الآن، وما الذي يجب شراؤه أو استعارته أو طلبه؟ ضع بجانب كل سطر مبلغا أو تاريخا، وعلّم على ما"
                " يستغرق وقتا طويلا.",
            ),
            (
                "رتب الخطوات وحدد مواعيدها",
                "أي خطوة تحتاج إلى خطوة أخرى قبلها؟ ابدأ بما يستغرق أطول وقت، واترك بضعة أيام احتياطية قبل النهاية.",
            ),
            (
                "اتفقوا على من يتولى كل جزء",
                "لكل خطوة اسم واحد، ويوم تراجعون فيه العمل معا. ومن يحل محل شخص إذا مرض؟",
            ),
            (
                "نفذ العمل ثم تحقق منه",
                "ضع علامة على ما انتهى، ودوّن ما جرى على غير المتوقع، وقرر فورا ما يترتب عليه. وفي الختام قارن ذلك بما"
                " كان مطلوبا.",
            ),
        ),
        other="هذا الجزء لم يوضع بعد. ما المطلوب منه، ومن ينفذه، وقبل أي يوم، وما الذي يلزم له؟",
        open="لم ينجز",
    ),
}


def checklist(goal: str) -> Checklist:
    """The checklist in *goal*'s language, the English one where there is none in it."""
    return CHECKLISTS.get(language(goal), CHECKLISTS["en"])


def split(request: Propose) -> tuple[Subgoal, ...]:
    """The steps as leaves; none below the goal, where they would only be said again. Strategies differ in what waits
    for what, so that parallel decomposers do not say the same."""
    goal = request.place.goal
    if not request.place.is_root or language(goal) not in CHECKLISTS or asks_nothing(goal):
        return ()
    turn = STRATEGIES.index(request.strategy) if request.strategy in STRATEGIES else 0
    steps = checklist(goal).steps
    waiting = (lambda at: (), lambda at: (0,) if at else (), lambda at: (at - 1,) if at else ())[turn % 3]
    return tuple(
        Subgoal(title=title, leaf=True, after=waiting(at))
        for at, (title, _) in enumerate(steps[: request.children_max])
    )


def execute(request: Execute) -> str:
    """The step's questions under the label."""
    said = checklist(request.place.goal)
    if asks_nothing(request.place.goal):
        return _NOTHING
    return f"{said.label}\n\n{dict(said.steps).get(request.place.title, said.other)}"


def compose(request: Compose) -> str:
    """The parts under their titles, the label once for all that bear it."""
    said = checklist(request.place.goal)
    blocks = []
    for part in request.parts:
        text = part.text.removeprefix(said.label).strip() if part.status == "done" else f"({said.open})"
        blocks.append(f"{clean(part.title, limits.TITLE_BYTES_MAX)}: {clean(text, limits.DETAIL_BYTES_MAX)}")
    labelled = any(part.text.startswith(said.label) for part in request.parts)
    return cut("\n\n".join([*([said.label] if labelled else []), *blocks]), limits.RESULT_BYTES_MAX)
