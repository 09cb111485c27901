"""Runs a command on a terminal of its own, types a key when the view has been drawn often enough, and tells what was there."""
import fcntl, json, os, select, struct, subprocess, sys, termios, time

key, command = sys.argv[1].encode(), sys.argv[2:]
master, slave = os.openpty()
fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
before = termios.tcgetattr(slave)
child = subprocess.Popen(
    command, stdin=slave, stdout=slave, stderr=slave, start_new_session=True,
    preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
)
seen, during, typed = b"", None, False
end = time.monotonic() + 60
while time.monotonic() < end:
    ended = child.poll() is not None
    if select.select([master], [], [], 0.1)[0]:
        seen += os.read(master, 65536)
    elif ended:
        break
    # A redraw begins with this.
    if not typed and seen.count(b"\x1b[?2026h") >= 4:
        during, typed = termios.tcgetattr(slave), True
        os.write(master, key)
if child.poll() is None:
    child.kill()
print(json.dumps({
    "status": child.wait(),
    "redraws": seen.count(b"\x1b[?2026h"),
    "was_raw": during is not None and not during[3] & (termios.ICANON | termios.ECHO),
    "is_as_before": termios.tcgetattr(slave) == before,
    "seen": seen.decode(errors="replace"),
}))
