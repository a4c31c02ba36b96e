"""First-party applications. They use the public psdopt names and the same plugin door as anybody."""
