"""What several tests share: data, oracles and readers."""
