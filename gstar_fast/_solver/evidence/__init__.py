"""Whether thresholds by group cost less than one threshold for everybody, beyond chance."""
