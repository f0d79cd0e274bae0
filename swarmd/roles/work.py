"""What roles ask of a model, and what they get back. A backend turns each request into prompts of its own."""

from typing import Literal, TypeAlias

from msgspec import Struct

from swarmd.events.kinds import Subgoal, Usage

CHECKLIST = "checklist (no model)"
"""The model of what stands in for a model that cannot do the work: a general checklist, labelled as such."""


class Place(Struct, frozen=True, kw_only=True):
    """Where in a goal the work lies. *path*: titles from below the goal down to, and without, the task.
    *siblings*: titles of the other parts of the same split. *around*: titles of what else the plan has nearby: the
    parts beside the tasks above it, and the siblings' own parts."""

    goal: str
    path: tuple[str, ...] = ()
    title: str
    detail: str = ""
    siblings: tuple[str, ...] = ()
    around: tuple[str, ...] = ()

    @property
    def is_root(self) -> bool:
        """Whether the task is the goal itself."""
        return not self.path and self.title == self.goal


class Propose(Struct, frozen=True, kw_only=True):
    """Split the task by *strategy* into at most *children_max* subgoals. With *leaves_only* every one is a leaf.
    *previous* and *critiques*: a split of another peer to be polished."""

    place: Place
    strategy: str
    children_max: int
    leaves_only: bool
    previous: tuple[Subgoal, ...] = ()
    critiques: tuple[str, ...] = ()


class Judge(Struct, frozen=True, kw_only=True):
    """Mark a split of the task."""

    place: Place
    subgoals: tuple[Subgoal, ...]


class Part(Struct, frozen=True, kw_only=True):
    """Finished work that other work rests on. *status* is that of its task."""

    title: str
    text: str
    status: Literal["done", "failed"] = "done"


class Execute(Struct, frozen=True, kw_only=True):
    """Do a leaf: write its finished text. *inputs*: results of the siblings that it waits for. *attempt*: from 1; a
    later one should not go as the one before."""

    place: Place
    inputs: tuple[Part, ...] = ()
    attempt: int = 1


class Compose(Struct, frozen=True, kw_only=True):
    """Write an inner task's text from its *parts*, in order. *attempt*: as for `Execute`."""

    place: Place
    parts: tuple[Part, ...]
    attempt: int = 1


Request: TypeAlias = Propose | Judge | Execute | Compose


class Split(Struct, frozen=True, kw_only=True):
    """Answer to `Propose`. No subgoals: the task is best done whole."""

    subgoals: tuple[Subgoal, ...]
    model: str
    usage: Usage = Usage()


class Judgement(Struct, frozen=True, kw_only=True):
    """Answer to `Judge`: marks 0..1, None where this model cannot tell, and a one-line critique."""

    specific: float | None
    disjoint: float | None
    covering: float | None
    critique: str = ""
    model: str
    usage: Usage = Usage()


class Text(Struct, frozen=True, kw_only=True):
    """Answer to `Execute` and `Compose`."""

    text: str
    model: str
    usage: Usage = Usage()


Answer: TypeAlias = Split | Judgement | Text


Tier: TypeAlias = Literal["tiny", "small", "good"]


class Backend(Struct, frozen=True, kw_only=True):
    """A model that answers now. *tier*: what may be expected of it. *why*: it was chosen, in words. *slots*: requests
    it serves at once. *context_tokens*: what prompt and answer may have together. *schema*: it can be held to the form
    of an answer. *token_scores*: it tells how likely a given text is. *local*: it runs on this machine.
    *tokens_per_s*: what it wrote in its self-test; None until then. *gpu*: share of it in a GPU's memory, 0..1, if
    known."""

    name: Literal["ollama", "openai", "embedded", "scripted"]
    model: str
    tier: Tier
    why: str = ""
    slots: int = 1
    context_tokens: int = 4_096
    schema: bool = False
    token_scores: bool = False
    local: bool = True
    tokens_per_s: float | None = None
    gpu: float | None = None
