"""Whether thresholds by group cost significantly less than one threshold for everybody."""
