"""What Acme adds to hintbound."""
