import sys, os

# What `site` would do with a virtual environment: its settings lie beside the interpreter, or one folder up.
executable = os.path.abspath(sys.executable)
beside = os.path.dirname(executable)
own = os.path.dirname(beside)
prefixes = [sys.prefix, sys.exec_prefix]
for settings in (os.path.join(beside, "pyvenv.cfg"), os.path.join(own, "pyvenv.cfg")):
    if os.path.isfile(settings):
        shared = "true"
        with open(settings, encoding="utf-8", errors="replace") as lines:
            for line in lines:
                name, sign, value = line.partition("=")
                if sign and name.strip().lower() == "include-system-site-packages":
                    shared = value.strip().lower()
        prefixes = [own, sys.base_prefix, sys.base_exec_prefix] if shared == "true" else [own]
        sys.prefix = sys.exec_prefix = own
        break

# They are of the standard library: no folder of packages is looked in yet, and none will be.
import json, sysconfig, marshal, site

module_path = list(dict.fromkeys(os.path.abspath(p) for p in sys.path if p))


def add(path):
    if path not in module_path:
        module_path.append(path)


for folder in site.getsitepackages(prefixes):
    folder = os.path.abspath(folder)
    if not os.path.isdir(folder) or folder in module_path:
        continue
    add(folder)
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        continue
    for name in names:
        listed = os.path.join(folder, name)
        if not name.endswith(".pth") or name.startswith(".") or not os.path.isfile(listed):
            continue
        try:
            with open(listed, encoding="utf-8-sig", errors="replace") as lines:
                text = lines.read(1 << 20)
        except OSError:
            continue
        for line in text.split("\n"):
            line = line.rstrip()
            # A line that begins with `import` is a program.
            if not line.strip() or line.startswith(("#", "import ", "import\t")) or "\0" in line:
                continue
            path = os.path.abspath(os.path.join(folder, line))
            if os.path.exists(path):
                add(path)

for name in ("ssl", "_sqlite3", "_ctypes", "_lzma", "_bz2", "zlib", "_hashlib", "readline", "_uuid", "_decimal", "_curses", "_dbm", "_gdbm", "_zstd"):
    try:
        __import__(name)
    except Exception:
        pass
libraries = set()
with open("/proc/self/maps") as maps:
    for line in maps:
        parts = line.split(None, 5)
        if len(parts) == 6 and ".so" in os.path.basename(parts[5]):
            libraries.add(parts[5].strip())
certificates = []
try:
    where = sys.modules["ssl"].get_default_verify_paths()
    certificates = [p for p in (where.openssl_cafile, where.openssl_capath, where.cafile, where.capath) if p]
except Exception:
    pass
paths = sysconfig.get_paths()
print(json.dumps({
    "executable": executable,
    "program": os.path.realpath("/proc/self/exe"),
    "version": "%d.%d.%d" % sys.version_info[:3],
    "prefixes": sorted({sys.prefix, sys.exec_prefix, sys.base_prefix, sys.base_exec_prefix}),
    "folders": [paths["stdlib"], paths["platstdlib"]],
    "module_path": module_path,
    "libraries": sorted(libraries),
    "certificates": certificates,
    "code": marshal.dumps(compile(sys.argv[1], "<string>", "exec")).hex(),
}))
