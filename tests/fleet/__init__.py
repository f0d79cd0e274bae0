"""What the playbooks run on the machine that deploys and on hosts, without any of either."""
