"""Launches in the files where people keep them: scripts, Dockerfiles, manifests, units."""
