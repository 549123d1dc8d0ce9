"""Many runs at a time: a pool of processes, a progress bar, and one BLAS thread a run."""
