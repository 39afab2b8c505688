"""What scripts/demo and scripts/test do once there is a Python. Standard library only."""
