"""`python -m swarmd` is `swarmd`."""

from swarmd.cli.swarmd import main

main()
