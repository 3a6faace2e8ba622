"""What commands leave on the disk, in a form that can be compared: without times and without unfinished files."""
import os
import signal

import h5py
import numpy as np

GROUPS = ["steps", "workers", "tensors", "probes", "evaluations", "events", "traffic"]
TIMED = {"created_utc", "command_line", "memory"}  # attributes that differ between any two runs, besides columns in seconds
EVENTS = ("events", "committed/events", "run/rows_of_events")


def is_timed(name, item):
    return name == "run/log" or "seconds" in name or item.attrs.get("units") in (b"s", "s")


def contents(file):
    """Every dataset and attribute that is the same in any two runs, by name."""
    found = {}

    def add_attributes(name, item):
        found.update({f"{name} {key}": np.asarray(value).tobytes() for key, value in item.attrs.items()
                      if key not in TIMED})

    def add(name, item):
        add_attributes(name, item)
        if not isinstance(item, h5py.Dataset) or is_timed(name, item):
            return
        values = item[()]
        if name == "events/text":  # the event of a resumption names the command
            values = np.array([text for text in values if not text.startswith(b"from step")])
        found[name] = values.tobytes()

    add_attributes("", file)
    file.visititems(add)
    return found


def text_of(path):
    """Lines of text without the columns of seconds."""
    with open(path, "rb") as file:
        lines = [line.split(b",") for line in file.read().split(b"\n")]
    timed = [i for i, name in enumerate(lines[0]) if b"seconds" in name]
    return [[cell for i, cell in enumerate(line) if i not in timed] for line in lines]


def is_open_log(path):
    """Whether a file is a log that its writer has not closed."""
    try:
        with h5py.File(path, "r", libver="latest", swmr=True) as file:
            return "status" in file
    except OSError:
        return False


def held(path):
    """The contents of a file; None if it is a log of an unfinished run, "unreadable" if HDF5 cannot read it."""
    if not h5py.is_hdf5(path):
        return text_of(path)
    try:
        with h5py.File(path, "r") as file:
            if "status" in file and file["status"].shape == () and file["status"][()] != b"finished":
                return None
            return contents(file)
    except OSError:
        return None if is_open_log(path) else "unreadable"


def without_events(contents_of_file):
    return {name: value for name, value in contents_of_file.items() if not name.startswith(EVENTS)}


def same(one, other, resumed):
    """Whether two files have the same contents; if resumed, apart from the events, which record resumptions."""
    if resumed and isinstance(one, dict) and isinstance(other, dict):
        return without_events(one) == without_events(other)
    return one == other


def is_result(name):
    return not name.endswith(".part")


def results(folder):
    """Files by name, without unfinished logs and leftovers with temporary names."""
    found = {}
    for where, _, names in os.walk(folder):
        for name in filter(is_result, names):
            path = os.path.join(where, name)
            found[os.path.relpath(path, folder)] = held(path)
    return {name: contents_of_file for name, contents_of_file in found.items() if contents_of_file is not None}


def committed_rows(path):
    """Reads the committed rows of every column of a log, live or killed. Returns them without times, as
    {group: {column: values}}."""
    rows = {}
    with h5py.File(path, "r", libver="latest", swmr=True) as file:
        for group in GROUPS:
            count = "committed_rows" if group == "steps" else "committed/" + group
            if count not in file:
                continue
            number, item = int(file[count][()]), file[group]
            columns = {group: item} if isinstance(item, h5py.Dataset) else dict(item.items())
            values = {name: column[:number] for name, column in columns.items()}
            short = [name for name, column in values.items() if len(column) < number]
            if short:
                raise OSError(f"{group} has {number} committed rows, but fewer in {', '.join(short)}")
            rows[group] = {name: column for name, column in values.items() if not is_timed(name, columns[name])}
    return rows


def training_events(rows):
    events = rows["events"]
    return [row for row in zip(events["step"], events["kind"], events["text"])
            if row[1] not in (b"stop", b"resume", b"failure")]


def differences(rows, whole):
    """Columns whose rows are not the first rows of the undisturbed log."""
    bad = []
    for group, columns in rows.items():
        if group == "events":
            here, there = training_events(rows), training_events(whole)
            if here != there[:len(here)]:
                bad.append(group)
            continue
        bad += [f"{group}/{name}" for name, values in columns.items()
                if values.tobytes() != whole[group][name][:len(values)].tobytes()]
    return bad


def defect_of_log(path, whole, seconds=20):
    """Says what is wrong with the committed rows of a live or killed log, compared with those of an undisturbed one;
    empty if nothing is. Another process reads them, so that a reader that hangs or crashes is a defect too."""
    ends = os.pipe()
    child = os.fork()
    if child == 0:
        signal.alarm(seconds)
        try:
            bad = differences(committed_rows(path), whole)
            text = "other values in " + ", ".join(bad) if bad else ""
        except (OSError, KeyError, ValueError) as error:
            text = f"unreadable: {error}"
        os.write(ends[1], text.encode()[:4000])
        os._exit(0)
    os.close(ends[1])
    with os.fdopen(ends[0], "rb") as pipe:
        text = pipe.read().decode()
    _, status = os.waitpid(child, 0)
    if status != 0:
        return f"unreadable: reading it ended with status {os.waitstatus_to_exitcode(status)}"
    return text
