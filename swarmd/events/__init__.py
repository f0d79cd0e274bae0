"""The facts that peers tell each other: their kinds, their bytes, their signatures."""
