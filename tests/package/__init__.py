"""What `make deb` and `make debs` have built, looked at and tried. Without a package in build/deb these skip."""
