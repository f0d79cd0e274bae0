"""In which language a text is, as far as the text tells: by its script, then by the commonest words and letter groups
of the languages that share one. A text that does not tell has no language here, and nothing is held against it."""

import re
import unicodedata
from collections import Counter
from functools import lru_cache

NAMES: dict[str, str] = {
    "en": "English", "de": "German", "fr": "French", "es": "Spanish", "it": "Italian", "pt": "Portuguese",
    "nl": "Dutch", "pl": "Polish", "vi": "Vietnamese", "uk": "Ukrainian", "ru": "Russian", "ja": "Japanese",
    "zh": "Chinese", "ko": "Korean", "ar": "Arabic", "fa": "Persian", "he": "Hebrew", "el": "Greek", "hi": "Hindi",
    "th": "Thai",
}  # fmt: skip
"""Languages that are told apart, by ISO 639-1, as English calls them."""

_SCRIPTS: tuple[tuple[str, tuple[tuple[int, int], ...]], ...] = (
    ("latin", ((0x41, 0x24F), (0x1E00, 0x1EFF))),
    ("cyrillic", ((0x400, 0x52F),)),
    ("kana", ((0x3041, 0x30FF), (0x31F0, 0x31FF))),
    ("han", ((0x3400, 0x9FFF), (0xF900, 0xFAFF), (0x20000, 0x3FFFF))),
    ("arabic", ((0x600, 0x6FF), (0x750, 0x77F))),
    ("hangul", ((0x1100, 0x11FF), (0xAC00, 0xD7AF))),
    ("hebrew", ((0x590, 0x5FF),)),
    ("greek", ((0x370, 0x3FF), (0x1F00, 0x1FFF))),
    ("devanagari", ((0x900, 0x97F),)),
    ("thai", ((0xE00, 0xE7F),)),
)
_OF_SCRIPT = {"arabic": "ar", "hangul": "ko", "hebrew": "he", "greek": "el", "devanagari": "hi", "thai": "th"}
_WORDS: dict[str, frozenset[str]] = {
    language: frozenset(words.split())
    for language, words in {
        "en": "the a an and to of for in on with my our your their from at is are it be by this that or we you how what"
        " when all before after next then first each make get plan buy find will not",
        "de": "der die das und für mit ein eine einen einem einer im in auf zu den dem des von bei nicht ist wir nach"
        " aus am an zum zur sich als auch vor oder unser unsere mein meine ihr ihre neue neuen alle wird werden",
        "fr": "le la les des une un et pour avec dans du de sur au aux est nous en notre nos mon ma mes par qui que se"
        " sa son leur ou pas ce cette",
        "es": "el la los las una un y para con en de del por que es al mi mis su sus nuestra nuestro se lo más sin",
        "it": "il la le gli un una di e per con nel nella del della dei da al alla che è sul si mio mia nostra nostro"
        " in non i lo",
        "pt": "o a os as um uma e para com em do da dos das no na que é ao por se meu minha nossa nosso não de",
        "nl": "de het een en voor met van op te in bij naar om zijn is dat niet onze mijn uit aan ook we of",
        "pl": "i w na z do dla o się nie jest za od po przez oraz jak mój moja nasz nasza lub to",
        "uk": "і та в у на з до для за що не як від про по із це або наш наша щоб який при й всі моя мій під",
        "ru": "и в на с до для за что не как от про по из это или наш наша чтобы который при все моя мой под к",
    }.items()
}
_GROUPS: dict[str, re.Pattern[str]] = {
    language: re.compile(groups)
    for language, groups in {
        "en": r"th|ing\b|sh|wh|ck|ould|ee|oo|ght",
        "de": r"sch(?!ool|ed|em)|ung\b|ungen\b|ieren\b|cht|[äöüß]|zu[mr]\b",
        "fr": r"eaux\b|eux\b|[çœéèêà]",
        "es": r"ción\b|[ñ¿¡]|ado\b",
        "it": r"zione\b|cch|gli\b|[àìò]\b",
        "pt": r"ção\b|ões\b|[ãõ]|nh|lh",
        "nl": r"ij|uu|aa[nrtk]",
        "pl": r"sz|cz|rz|[łąęśżźćń]|ów\b",
        "uk": r"[іїєґ]|ти\b|ння\b",
        "ru": r"[ыэъё]|ть\b|ние\b",
    }.items()
}
_LATIN = ("en", "de", "fr", "es", "it", "pt", "nl", "pl")
_SHARED_BY = Counter(word for language in _LATIN for word in _WORDS[language]) + Counter(
    word for language in ("uk", "ru") for word in _WORDS[language]
)
_GROUP_WEIGHT = 0.5  # a common word says more than a group of letters, which names hold as well
_TOLD = 0.9  # from this score on a text has told its language …
_LEAD = 1.5  # … if the next one has so many times less
_SURE = 2.0  # the same for a title, which may be all names
_HAN_MIN = 16  # characters without a single kana, from which a text is Chinese: a Japanese title may have none
_READ_MAX = 4_000  # characters of a text that are looked at
_LETTERS_MIN = 3
_WORDS_MIN = 3
_QUOTED = 0.2  # of a text's letters in the goal's script, from which the text is mixed rather than foreign
_MOSTLY = 0.6  # of a text's letters, which make its script

_NAMED = re.compile(
    r"\b(?:" + "|".join(NAMES.values()) + r"|deutsch\w*|englisch\w*|français\w*|español\w*|український|українськ\w+"
    r"|англійськ\w+|translat\w+|übersetz\w+)\b|tiếng \w+|日本語|英語|語に|中文|العربية|الإنجليزية",
    re.IGNORECASE,
)


def script(text: str) -> str:
    """The script of most of *text*'s letters, "" where there are none, or none that prevails. Kana and Han together
    count as kana: that is how Japanese is written."""
    return _script(text[:_READ_MAX])


@lru_cache(256)
def _script(text: str) -> str:
    counts = _letters(text)
    if counts["kana"]:
        counts["kana"] += counts.pop("han", 0)
    most, count = counts.most_common(1)[0] if counts else ("", 0)
    return most if count >= _MOSTLY * counts.total() else ""


def language(text: str) -> str:
    """ISO 639-1 code of *text*'s language, one of `NAMES`, or "" where it does not tell."""
    return _language(text[:_READ_MAX])


@lru_cache(256)
def _language(text: str) -> str:
    code, score, second = _best(text)
    return code if score >= _TOLD and score >= _LEAD * second else ""


def may_be_english(text: str) -> bool:
    """Whether *text* is in English, or in Latin letters without telling its language ("Get fit")."""
    return script(text) == "latin" and language(text) in ("", "en")


def strays(text: str, goal: str) -> bool:
    """Whether *text* is certainly in another language than *goal*. Never where the goal itself speaks of a language:
    then a text in that one may be what is wanted."""
    text = text[:_READ_MAX]
    theirs, ours = script(text), script(goal)
    if not theirs or not ours or _letters(text).total() < _LETTERS_MIN or speaks_of_a_language(goal):
        return False
    if theirs != ours:
        counts = _letters(text)
        if counts[ours] >= _QUOTED * counts.total():
            return False  # it speaks of the goal in the goal's own words
        return not {theirs, ours} <= {"kana", "han"} or _is_chinese(text) != _is_chinese(goal)
    said, score, second = _best(text)
    wanted = language(goal)
    if wanted == "vi" and text.isascii():  # no Vietnamese sentence does without its marks
        return len(text.split()) >= _WORDS_MIN
    return bool(wanted) and said != wanted and score >= _SURE and score >= _LEAD * second


def speaks_of_a_language(text: str) -> bool:
    """Whether *text* names a language, or speaks of translating."""
    return bool(_NAMED.search(text))


def _best(text: str) -> tuple[str, float, float]:
    """The likeliest language, its score, and that of the next one."""
    written = script(text)
    if written in _OF_SCRIPT:
        persian = written == "arabic" and re.search("[پچژگ]", text)
        return "fa" if persian else _OF_SCRIPT[written], _SURE, 0.0
    if written == "kana":
        return "ja", _SURE, 0.0
    if written == "han":
        return ("zh", _SURE, 0.0) if _is_chinese(text) else ("", 0.0, 0.0)
    folded = unicodedata.normalize("NFC", text).casefold()
    if written == "latin" and (vietnamese := len(re.findall("[ăđơư\u1ea0-\u1ef9]", folded))) >= 2:
        return "vi", float(vietnamese), 0.0
    among = ("uk", "ru") if written == "cyrillic" else _LATIN if written == "latin" else ()
    words = re.findall(r"[^\W\d_]+", folded)
    scores = sorted(((_score(code, folded, words), code) for code in among), reverse=True)
    return (scores[0][1], scores[0][0], scores[1][0]) if scores else ("", 0.0, 0.0)


def _score(code: str, folded: str, words: list[str]) -> float:
    common = sum(1 / _SHARED_BY[word] for word in words if word in _WORDS[code])
    return common + _GROUP_WEIGHT * len(_GROUPS[code].findall(folded))


def _is_chinese(text: str) -> bool:
    counts = _letters(text)
    return not counts["kana"] and counts["han"] >= _HAN_MIN


def _letters(text: str) -> Counter[str]:
    counts: Counter[str] = Counter()
    for character in unicodedata.normalize("NFC", text):
        if character.isalpha():
            counts[_script_of(ord(character))] += 1
    return counts


@lru_cache(4096)
def _script_of(code: int) -> str:
    return next((name for name, spans in _SCRIPTS if any(low <= code <= high for low, high in spans)), "other")
