"""Rules of the protocol, each broken on purpose in one place. A test suite that lets one of them live is too polite."""
