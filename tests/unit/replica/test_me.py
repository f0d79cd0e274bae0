"""What a peer says of itself."""

import pytest

from swarmd.gossip.frames import Presence, decode_presence, encode
from swarmd.replica.me import ROLES, Me
from swarmd.roles.work import Backend
from swarmd.vocab.ids import PeerId

SERVED = Backend(name="ollama", model="qwen3:4b", tier="small")


def me(backend: Backend | None, suited: tuple[str, ...] | None = None, allowed: tuple[str, ...] = ROLES) -> Me:
    return Me(
        peer=PeerId("me"), name="me", allowed=allowed, version="", run=bytes(16), backend=backend, backend_known=True,
        suited=suited,
    )  # fmt: skip


@pytest.mark.parametrize(("speed", "said"), [(None, 0), (0.2, 1), (4.6, 5), (1e300, 1_000_000), (-1.0, 1)])
def test_any_speed_that_a_server_claims_fits_a_presence(speed: float | None, said: int) -> None:
    mine = me(Backend(name="ollama", model="qwen3:4b", tier="small", tokens_per_s=speed))
    assert mine.tokens_per_s == said
    presence = Presence(
        name="me", roles=(), wall_ms=1, hlc=1, fingerprint=bytes(16), run=bytes(16), tokens_per_s=mine.tokens_per_s
    )
    assert decode_presence(encode(presence)) == presence


def test_roles_are_those_that_are_allowed_and_that_the_model_serves_for() -> None:
    assert me(SERVED).roles == ROLES
    assert me(SERVED, suited=("scorer", "executor")).roles == ("scorer", "executor")
    assert me(SERVED, suited=("scorer",), allowed=("executor",)).roles == ()
    assert me(None, suited=("executor",)).roles == ("scorer",)
