"""The command `hintbound`. Each module beside this one is one command; its `command` is a click command or
group.

Modules are imported only when their command is called, so that `hintbound --help` stays quick.
"""

from __future__ import annotations

import importlib
import io
import pkgutil
import signal
import sys
import traceback

import click

from hintbound import __version__
from hintbound.errors import CannotStart
from hintbound.protocol import ExitCode


class _Commands(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(module.name.replace("_", "-") for module in pkgutil.iter_modules(__path__))

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.list_commands(ctx):
            return None
        command = importlib.import_module(f"{__name__}.{cmd_name.replace('-', '_')}").command
        assert isinstance(command, click.Command)
        return command


@click.group(
    cls=_Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110}
)
@click.version_option(__version__, prog_name="hintbound")
def hintbound() -> None:
    """Conformance and chaos tests for Kubernetes pod.status.nominatedNodeName: a hint is not a binding."""


def main(args: list[str] | None = None) -> None:
    """Run the command line and exit: 0 pass, 1 fail, 2 unknown, 130 interrupted, 254 cannot start, 255
    internal. Without `args` the process is ours alone, its signals too."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal that cannot show a sign is no reason to end
    try:
        code = _run(args)
    except KeyboardInterrupt:  # once more, while the answer to the first was on its way
        code = ExitCode.INTERRUPTED
    if args is None:
        _answered()
    sys.exit(code)


def _run(args: list[str] | None) -> int:
    try:
        outcome = hintbound.main(args, prog_name="hintbound", standalone_mode=False)
    except CannotStart as error:
        _complain(str(error))
        return ExitCode.CANNOT_START
    except click.ClickException as error:
        context = getattr(error, "ctx", None)
        where = f" See `{context.command_path} --help`." if context else ""
        _complain(f"{error.format_message()}{where}")
        return ExitCode.CANNOT_START
    except (KeyboardInterrupt, click.Abort):
        if args is None:
            _answered()
        _complain("interrupted.")
        return ExitCode.INTERRUPTED
    except BrokenPipeError:
        sys.stderr.close()
        return ExitCode.PASS
    except Exception:
        traceback.print_exc()
        _complain("internal error: please report it with the lines above.")
        return ExitCode.INTERNAL
    return outcome if isinstance(outcome, int) else ExitCode.PASS


def _answered() -> None:
    """The exit code stands: the interpreter takes a while to end, and a signal meanwhile would replace it."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)


def _complain(message: str) -> None:
    click.echo(f"hintbound: {message}", err=True)
