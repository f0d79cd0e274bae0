"""Every bound of the swarm, with its unit and its reason. Nothing that arrives from outside grows without one."""

# --- one event -----------------------------------------------------------------------------------------------------
ENVELOPE_BYTES_MAX = 256 * 1024  # GossipSub of py-libp2p silently loses messages from 1 MiB; four fit in one
GOAL_BYTES_MAX = 8 * 1024  # three pages; must fit a 4,096-token context together with the instructions
TITLE_BYTES_MAX = 400  # a subgoal's title is one line
DETAIL_BYTES_MAX = 2 * 1024  # a paragraph
CRITIQUE_BYTES_MAX = 2 * 1024  # two paragraphs; longer came from runaway models
RESULT_BYTES_MAX = 128 * 1024  # 40 pages; longer is cut at a line and says so, so that a result fits one envelope
REASON_BYTES_MAX = 1024
NAME_BYTES_MAX = 64  # a host name label has 63
MODEL_BYTES_MAX = 128
STRATEGY_BYTES_MAX = 64
BASIS_BYTES_MAX = 16  # one word
ELECTORATE_MAX = 64  # scorers of one goal; a home has fewer machines
PROMISE_APPROVALS_MAX = 512  # ballots a scorer may have approved for one task before the task is hopeless
BALLOT_MAX = 100_000  # one a second for a day
ATTEMPT_MAX = 1_000

# --- one goal ------------------------------------------------------------------------------------------------------
CHILDREN_MAX = 12  # a person keeps about seven in view; over twelve is a list, not a split
DEPTH_MAX = 8
TASKS_MAX = 2_000

ENDED_MS_MAX = 90 * 24 * 3_600_000  # a season: who wants a plan for longer has its report
ENDED_BYTES_MAX = 256 * 1024 * 1024  # of all ended goals: some hundred large plans, a hundredth of a small SD card

EVENTS_BYTES_MAX = 512 * 1024 * 1024  # memory for all events, ended goals at most half of it; beyond, none is taken in
EVENT_OVERHEAD_BYTES = 1024  # what an event takes beside its envelope, measured

# --- one peer ------------------------------------------------------------------------------------------------------
DRIFT_MS_MAX = 24 * 3_600_000  # a wrong time zone is off by 14 h at most; a day ahead is no synchronised clock
PLAUSIBLE_MS_MIN = 1_767_225_600_000  # 2026-01-01: before the first release no event can have been made
PRESENCE_BYTES_MAX = 4 * 1024
LIVE_BYTES_MAX = 4 * 1024  # a chunk of running text; half a second of a fast model is far less
LIVE_TEXT_BYTES_MAX = 32 * 1024  # running text that is kept for viewers, per claim
PEERS_MAX = 256

# --- between two peers ---------------------------------------------------------------------------------------------
FRAME_BYTES_MAX = 512 * 1024  # one sync frame: two of the largest envelopes
FRAME_IDS_MAX = 4_096  # 16-byte ids named in one frame
RANGES_MAX = 1_024  # ranges in one frame: 64 that were asked about, each cut into 16
SESSIONS_MAX = 16  # sync sessions at once; a home has fewer peers than that to catch up at the same time

# --- control socket ------------------------------------------------------------------------------------------------
BODY_BYTES_MAX = 64 * 1024
WATCHERS_MAX = 256
