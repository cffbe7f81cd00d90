"""Whether counts agree with what unmixing assumes."""
