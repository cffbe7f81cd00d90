"""What every room stands on: names, grids, files, bytes and documents."""
