module hintbound.dev/linger

go 1.24
