"""As much of torch as a dataset needs: tests put this folder before torch's own place, which may not be there."""
