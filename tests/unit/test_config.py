"""Every slip in a configuration is told with its place and with what would be right; the example is the truth."""

import re
import tomllib
from itertools import pairwise
from pathlib import Path

import pytest
from msgspec.structs import asdict, fields

from swarmd.config import Config, load, ollama_url
from swarmd.vocab.faults import LocalMistake

EXAMPLE = Path(__file__).parents[2] / "packaging" / "config.toml"


def keys(config: Config) -> set[tuple[str, ...]]:
    found: set[tuple[str, ...]] = set()
    for name, value in asdict(config).items():
        inner = getattr(value, "__struct_fields__", None)
        found |= {(name, field) for field in inner} if inner else {(name,)}
    return found


def test_nothing_at_all_is_the_defaults() -> None:
    assert load([], {}) == Config()


def test_the_example_holds_every_key_at_its_default() -> None:
    text = EXAMPLE.read_text()
    assert load([("config.toml", text)], {}) == Config()
    table = tomllib.loads(text)
    written: set[tuple[str, ...]] = set()
    for key, value in table.items():
        written |= {(key, inner) for inner in value} if isinstance(value, dict) else {(key,)}
    assert written == keys(Config())


def test_the_example_explains_every_key() -> None:
    lines = EXAMPLE.read_text().splitlines()
    for before, line in pairwise(lines):
        if re.match(r"\w+ =", line):
            assert before.startswith("#"), line


def test_every_key_can_be_set_by_environment() -> None:
    plain = {int: "7", float: "7", bool: "false", str: "", tuple: ""}
    for key in keys(Config()):
        default: object = Config()
        for part in key:
            default = getattr(default, part)
        value = {
            ("roles",): "scorer,executor",
            ("net", "listen"): "/ip4/10.0.0.1/tcp/1,/ip6/::/tcp/2",
            ("model", "backend"): "ollama",
            ("model", "host"): "10.0.0.1",
            ("model", "context"): "4096",
            ("control", "socket_mode"): "600",
        }.get(key, plain[type(default)])
        load([], {"SWARMD_" + "_".join(key).upper(): value})


def test_later_texts_override_earlier_ones_and_the_environment_both() -> None:
    config = load(
        [("a", "[net]\nmdns = false\npsk = false"), ("b", "[net]\nmdns = true\nlisten = ['/ip4/1.2.3.4/tcp/5']")],
        {"SWARMD_NET_LISTEN": "/ip4/0.0.0.0/tcp/1, /ip6/::/tcp/2", "HOME": "/nowhere"},
    )
    assert config.net.mdns
    assert not config.net.psk
    assert config.net.listen == ("/ip4/0.0.0.0/tcp/1", "/ip6/::/tcp/2")


@pytest.mark.parametrize(
    ("text", "expected"),
    [("", "auto"), ("roles = []", ()), ('roles = ["scorer"]', ("scorer",)), ('roles = "auto"', "auto")],
)
def test_roles_are_auto_or_a_list(text: str, expected: object) -> None:
    assert load([("config.toml", text)], {}).roles == expected


@pytest.mark.parametrize(("value", "expected"), [("auto", "auto"), ("", ()), ("executor", ("executor",))])
def test_roles_by_environment_are_auto_or_a_list(value: str, expected: object) -> None:
    assert load([], {"SWARMD_ROLES": value}).roles == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("\n\nnam = 'x'", "c.toml:3: there is no 'nam'; did you mean 'name'?"),
        ("[net]\n# listen\n\nlisen = []", "c.toml:4: there is no 'lisen' in [net]; did you mean 'listen'?"),
        ("[nett]\nmdns = true", "c.toml:1: there is no 'nett'; did you mean 'net'?"),
        ("name = 'x'\nzzz = 1", "c.toml:2: there is no 'zzz'; known are name, roles, "),
        ("net = 3", "c.toml:1: net is a section"),
        ("[name]\nx = 1", "c.toml:1: name is {'x': 1}, but must be plain text"),
        (
            "model.backend = 'olama'",
            "c.toml:1: model.backend is 'olama', but must be one of auto, ollama, openai, embedded",
        ),
        ("model.backend = 'olama'", "did you mean 'ollama'?"),
        ("[timing]\nsettle_ms = 1\npresence_s = 0", "c.toml:3: timing.presence_s is 0, but must be seconds from 0.05"),
        ("[timing]\npresence_s = nan", "c.toml:2: timing.presence_s is nan"),
        ("[timing]\nsettle_ms = true", "c.toml:2: timing.settle_ms is True, but must be milliseconds"),
        ("net = { mdns = 1 }", "c.toml:1: net.mdns is 1, but must be true or false"),
        ("roles = ['scorr']", "did you mean 'scorer'?"),
        ('name = "a\\u001bb"', "but must be plain text"),
        ("name = '" + "é" * 33 + "'", "plain text of at most 64 bytes"),
        ("[net]\nlisten = []", "but must be 1 to 16 multiaddresses"),
        ("[net]\nlisten = ['/ip4/1.2.3.4/tcp/70000']", "but must be 1 to 16 multiaddresses"),
        ("[net]\nlisten = ['/ip4/::1/tcp/1']", "but must be 1 to 16 multiaddresses"),
        ("[net]\nlisten = ['0.0.0.0:4001']", "such as /ip4/0.0.0.0/tcp/4001"),
        ("state_dir = 'relative'", "state_dir is 'relative', but must be an absolute path"),
        ("[control]\nsocket_mode = '0999'", "octal"),
        ("[model]\ncontext = 100", "model.context is 100, but must be tokens from 1024 to 131072, or 0"),
        ("[model]\nhost = 'ftp://x'", "model.host is 'ftp://x', but must be an address such as"),
        ("name = 'x'\nname = 'y'", "c.toml:2: this is not TOML"),
        ("\n[net\n", "c.toml:2: this is not TOML"),
        ("x = " + "[" * 100_000, "nested too deeply"),
    ],
)
def test_a_slip_is_told_with_its_line_and_what_would_be_right(text: str, message: str) -> None:
    with pytest.raises(LocalMistake, match=re.escape(message)):
        load([("a.toml", ""), ("c.toml", text)], {})


@pytest.mark.parametrize(
    ("variable", "value", "message"),
    [
        ("SWARMD_NET_LISTN", "", "SWARMD_NET_LISTN: there is no such setting; did you mean 'SWARMD_NET_LISTEN'?"),
        ("SWARMD_MODEL_THREADS", "many", "SWARMD_MODEL_THREADS: model.threads is 'many', but must be a number"),
        ("SWARMD_NET_MDNS", "", "must be true or false"),
        ("SWARMD_NET_PEERS", "/ip4/1.2.3.4/tcp/1,garage", "multiaddresses"),
        ("OLLAMA_HOST", "http://x:port", "environment variable OLLAMA_HOST: model.host is"),
    ],
)
def test_a_slip_in_a_variable_is_told_with_its_name(variable: str, value: str, message: str) -> None:
    with pytest.raises(LocalMistake, match=re.escape(message)):
        load([], {variable: value})


def test_ollama_host_stands_behind_the_file_and_the_file_behind_our_own_variable() -> None:
    ollama = {"OLLAMA_HOST": "10.0.0.1"}
    text = [("c", "[model]\nhost = '10.0.0.2'")]
    assert load([], ollama).model.host == "http://10.0.0.1:11434"
    assert load(text, ollama).model.host == "http://10.0.0.2:11434"
    assert load(text, ollama | {"SWARMD_MODEL_HOST": "10.0.0.3"}).model.host == "http://10.0.0.3:11434"
    assert load([], {"OLLAMA_HOST": " "}) == Config()


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("", "http://127.0.0.1:11434"),
        ("gpu", "http://gpu:11434"),
        ("gpu:1234", "http://gpu:1234"),
        (":1234", "http://127.0.0.1:1234"),
        ("0.0.0.0", "http://127.0.0.1:11434"),
        ("http://gpu", "http://gpu:80"),
        ("https://gpu", "https://gpu:443"),
        ("https://gpu:8443/ollama/", "https://gpu:8443/ollama"),
        ("::1", "http://[::1]:11434"),
        ("[::]:80", "http://[::1]:80"),
        ("fd00::7", "http://[fd00::7]:11434"),
        ('"gpu"', "http://gpu:11434"),
    ],
)
def test_an_ollama_host_is_read_as_ollama_reads_it(host: str, url: str) -> None:
    assert ollama_url(host) == url
    assert ollama_url(url) == url


def test_every_limit_of_a_setting_has_words() -> None:
    for key in keys(Config()):
        value: object = Config()
        for part in key[:-1]:
            value = getattr(value, part)
        (field,) = (field for field in fields(value) if field.name == key[-1])  # type: ignore[arg-type]
        assert "description=" in repr(field.type), key
