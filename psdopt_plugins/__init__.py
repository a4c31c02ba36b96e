"""First-party applications. They use only public psdopt names and register as third-party plugins do."""
