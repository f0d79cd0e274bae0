"""What `make deb` and `make debs` have built, looked at and tried: `make package-test`."""
