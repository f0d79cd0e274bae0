"""The plan is a pure function of a set of events: `fold(events) -> Plan`, whatever their order, repeats or path."""
