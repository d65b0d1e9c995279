"""What a cluster must do; a vendor reads this like a specification."""
