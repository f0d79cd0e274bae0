"""Words that every floor speaks: ids, clocks, limits, faults, clean text. Imports nothing of swarmd."""
