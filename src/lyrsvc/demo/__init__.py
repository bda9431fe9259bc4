"""A stand-in for the outside world, on loopback: used by the demo and by the tests."""
