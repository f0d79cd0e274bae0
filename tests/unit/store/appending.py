"""A process that appends events to a journal for ever and says which ones were acknowledged; to be killed.

python appending.py JOURNAL FIRST_NUMBER
"""

import itertools
import sys
from pathlib import Path

from swarmd.events.envelope import Envelope
from swarmd.store.journal import Journal

journal = Journal(Path(sys.argv[1]))
for number in itertools.count(int(sys.argv[2])):
    # sizes vary so that transactions span log pages and checkpoints come often
    batch = [Envelope(b"%d.%d " % (number, part) + bytes(number % 7 * 2_000), bytes(64)) for part in range(3)]
    journal.append(batch, sync=number % 2 == 0)
    print(number, flush=True)
