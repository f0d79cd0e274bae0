import pytest

from swarmd.roles.language import language, script, speaks_of_a_language, strays

SAID = {
    "en": ("Plan a two-week trip to Japan", "Book return flights to Tokyo", "Remove the old tiles and paint the walls"),
    "de": ("Einen Umzug in eine kleinere Wohnung vorbereiten", "Den Keller ausräumen", "Flüge nach Tokio buchen"),
    "uk": ("Підготувати квартиру до зими", "Купити квитки на потяг", "Утеплити вікна та двері"),
    "vi": ("Tổ chức đám cưới nhỏ cho 50 khách", "Mua vé tàu đi Đà Nẵng", "Lập danh sách khách mời"),
    "ja": ("家族で京都へ三日間の旅行を計画する", "東京のホテルを予約する", "寺院を訪れる"),
    "ar": ("تجهيز الأطفال للعودة إلى المدرسة", "احجز فندقا في طوكيو", "اشتر تذاكر القطار"),
}


@pytest.mark.parametrize(("code", "text"), [(code, text) for code, texts in SAID.items() for text in texts])
def test_goals_and_titles_tell_their_language(code: str, text: str) -> None:
    assert language(text) == code


@pytest.mark.parametrize(
    ("code", "text"),
    [
        ("fr", "Réserver les billets d'avion et préparer le budget du voyage"),
        ("es", "Reservar los vuelos y preparar la cena para los invitados"),
        ("ru", "Купить билеты на поезд и утеплить окна"),
        ("zh", "预订东京的酒店并购买去京都的火车通票和地图"),
        ("ko", "도쿄 호텔 예약하기"),
        ("el", "Κράτηση ξενοδοχείου"),
        ("he", "להזמין מלון בטוקיו"),
        ("fa", "خرید بلیت قطار و پیدا کردن هتل"),
    ],
)
def test_neighbouring_languages_are_told_apart(code: str, text: str) -> None:
    assert language(text) == code


@pytest.mark.parametrize("text", ["", "🎉🎂", "12:30", "Japan", "京都観光", "—"])
def test_a_text_that_does_not_tell_has_no_language(text: str) -> None:
    assert language(text) == ""


def test_kana_and_han_are_one_script_and_letters_of_several_are_none() -> None:
    assert script("東京のホテル") == "kana"
    assert script("東京") == "han"
    assert script("Київ Kyiv Київ Kyiv") == ""


@pytest.mark.parametrize("code", SAID)
@pytest.mark.parametrize("other", SAID)
def test_a_text_in_another_language_strays_and_one_in_the_goals_does_not(code: str, other: str) -> None:
    goal, text = SAID[code][0], ". ".join(SAID[other])
    assert strays(text, goal) is (code != other)


@pytest.mark.parametrize(
    ("text", "goal"),
    [
        ("Visit the Louvre and the Musée d'Orsay", "Plan a weekend in Paris"),
        ("Der Zauberberg", "Read a novel each month and write about it"),
        ("京都観光", "家族で京都へ三日間の旅行を計画する"),
        ("Research options for Підготувати квартиру", "Підготувати квартиру до зими"),
        ("🎉", "Get fit"),
    ],
)
def test_names_quotations_and_mixtures_do_not_stray(text: str, goal: str) -> None:
    assert not strays(text, goal)


def test_where_the_goal_speaks_of_a_language_nothing_strays() -> None:
    assert not strays("Sehr geehrte Frau Meier, hiermit kündige ich die Wohnung.", "Write a letter in German")
    assert not strays("東京のホテルを予約する", "Translate our menu for the guests")
    assert not speaks_of_a_language("Plan a two-week trip to Japan")
