"""Twenty-four goals as a household has them: the mission's own, travel, chores, specifications, long and short ones, in
six languages. The first ones are of all kinds, so that a short run sees some of each."""

from typing import NamedTuple


class Wish(NamedTuple):
    """*language*: ISO 639-1."""

    name: str
    language: str
    text: str


GOALS = (
    Wish("japan", "en", "Plan a two-week trip to Japan"),
    Wish("library", "en", "Write a software specification for a library catalogue"),
    Wish("bathroom", "en", "Renovate a small bathroom"),
    Wish("fit", "en", "Get fit"),
    Wish("winter-uk", "uk", "Підготувати квартиру до зими"),
    Wish("birthday", "en", "Throw a surprise birthday party for my mother's 60th"),
    Wish("kyoto-ja", "ja", "家族で京都へ三日間の旅行を計画する"),
    Wish("garden", "en", "Start a vegetable garden"),
    Wish("move-de", "de", "Einen Umzug in eine kleinere Wohnung vorbereiten"),
    Wish(
        "repair-cafe",
        "en",
        "We are a volunteer group of about twenty people running a neighbourhood repair cafe once a month in a borrowed"
        " school hall; over the next six months we want to find a permanent room, buy our own basic tools, recruit at"
        " least ten more repairers who know electronics, sewing and bicycles, write a safety policy that satisfies the"
        " insurer, open a bank account, apply for two small grants, keep a record of every repair, and hold a public"
        " open day in June, all without spending more than 1500 euros and without losing the friendly atmosphere that"
        " made people come in the first place",
    ),
    Wish("wedding-vi", "vi", "Tổ chức đám cưới nhỏ cho 50 khách"),
    Wish("backup", "en", "Set up a home backup system for photos and documents"),
    Wish("school-ar", "ar", "تجهيز الأطفال للعودة إلى المدرسة"),
    Wish("meals", "en", "Make a weekly meal plan for a family of four"),
    Wish("move", "en", "Move to a new flat in another city"),
    Wish("camping", "en", "Go camping for a weekend with two small children"),
    Wish("garden-de", "de", "Ein Sommerfest für die Nachbarn im Garten organisieren"),
    Wish("bikes", "en", "Specify a mobile app that tracks bicycle repairs"),
    Wish("lisbon", "en", "Organise a long weekend in Lisbon for two couples"),
    Wish("spanish", "en", "Learn Spanish"),
    Wish("cleaning", "en", "Clean the whole house before grandmother visits"),
    Wish("car", "en", "Sell our old car"),
    Wish("energy", "en", "Cut our electricity bill by a third within a year"),
    Wish(
        "scout-camp",
        "en",
        "Prepare the summer camp of our scout group: thirty-two children between eight and fourteen, six leaders, ten"
        " days in July on a meadow by a lake without electricity; two children are allergic to nuts and one uses a"
        " wheelchair, parents can pay at most 180 euros, and the local council wants a safety concept by the end of"
        " April",
    ),
)
