"""Every trial, kept. May import the rooms before it."""
