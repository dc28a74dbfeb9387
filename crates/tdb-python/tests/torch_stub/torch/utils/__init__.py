"""What torch keeps in `torch.utils`."""
