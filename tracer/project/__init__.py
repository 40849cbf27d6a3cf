"""The deployments that a project lists in its own configuration."""
