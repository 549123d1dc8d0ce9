"""`trimtab warmup`: compile now rather than at the first decision."""

from __future__ import annotations


def warmup() -> None:
    """Compile all kernels and keep them on the disk, so that later runs begin at once."""
    from rich.console import Console
    from rich.progress import Progress

    from trimtab.sim.warmup import kernels_compiled, steps

    console = Console(stderr=True)
    if not kernels_compiled():
        console.print("Compiling the kernels; this takes a minute or two, once.")
    tasks = steps()
    with Progress(console=console) as progress:
        bar = progress.add_task("compiling", total=None)
        for name, compile_ in tasks:
            progress.update(bar, description=name)
            compile_()
            progress.advance(bar)
        progress.update(bar, description="compiled", total=1, completed=1)
