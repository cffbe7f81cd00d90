"""Steps of the solvers that the face and several backends share."""
