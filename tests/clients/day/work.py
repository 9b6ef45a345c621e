"""What the model does of its task, step by step: rules that take each name from what was told."""

import re


async def work(model):
    project, code, tests, guide, data = await look_around(model)
    await mend(model, project, code, tests)
    await rename(model, project)
    await release(model, project, guide)
    await analyse(model, guide, data)
    await compare(model, guide, data)
    await tidy(model, project, guide)
    await finish(model, project, tests)


async def look_around(model):
    """1. Get to know the project."""
    await model.policy()
    roots = await model.call("see what there is", "list_directory", path=".")
    project = re.search(r"^(project)/", roots, re.MULTILINE).group(1)
    await model.call("see the project", "list_directory", path=project)
    everything = await model.call("see all of it", "list_directory", path=project, depth=4)
    await model.call("read what it is", "read_file", path=model.first(r"^[\w./-]+README\S*"))
    files = model.all(r"^([\w./-]+\.(?:py|toml|md|txt))  ", everything)
    for path in files:
        if "README" not in path and "old" not in path:
            await model.call("read it", "read_file", path=path)
    folder = lambda pattern: model.first(pattern).rsplit("/", 1)[0]
    code, tests, guide, data = (folder(pattern) for pattern in (r"^[\w./-]+/money\.py", r"^[\w./-]+/test_money\.py", r"^[\w./-]+/guide\.md", r"^[\w./-]+\.csv"))
    table = model.first(r"^[\w./-]+\.csv")
    await model.call("how large is the data", "file_info", path=table)
    await model.call("what does the data look like", "read_file", path=table, limit=6)
    return project, code, tests, guide, data


def run_tests(code, tests):
    source = code.rsplit("/", 1)[0]
    return (
        "import sys, unittest\n"
        "sys.dont_write_bytecode = True\n"
        f"sys.path.insert(0, '/roots/{source}')\n"
        f"suite = unittest.defaultTestLoader.discover('/roots/{tests}')\n"
        "result = unittest.TextTestRunner(stream=sys.stdout).run(suite)"
    )


async def mend(model, project, code, tests):
    """2. `to_cents` loses a cent."""
    await model.call("do the tests pass before", "run_python", code=run_tests(code, tests))
    await model.call("see the fault", "run_python", code='print(float("0.29") * 100, int(float("0.29") * 100))')
    await model.call("where is it", "search_files", path=project, query=r"float\(", glob="*.py")
    money = model.first(r"^([\w./-]+/money\.py)$")
    await model.call(
        "mend it",
        "edit_file",
        path=money,
        edits=[
            {"old_text": '"""Money as whole cents, never as fractions."""\n', "new_text": '"""Money as whole cents, never as fractions."""\n\nfrom decimal import Decimal\n'},
            {"old_text": "int(float(text) * 100)", "new_text": "int(Decimal(text) * 100)"},
        ],
    )
    await model.call(
        "add a test",
        "edit_file",
        path=model.first(r"^[\w./-]+/test_money\.py"),
        edits=[
            {
                "old_text": "    def test_there_and_back(self):",
                "new_text": '    def test_no_cent_is_lost(self):\n        self.assertEqual(to_cents("0.29"), 29)\n\n    def test_there_and_back(self):',
            }
        ],
    )
    await model.call("read it again", "read_file", path=money)
    await model.call("do the tests pass now", "run_python", code=run_tests(code, tests))


async def rename(model, project):
    """3. `total` is `sum_up` from now on."""
    found = await model.call("where does the name stand", "search_files", path=project, query=r"\btotal\b")
    for path, matches in re.findall(r"^([\w./-]+\.(?:py|md))\n((?:\d+: .*\n)+)", found, re.MULTILINE):
        lines = re.findall(r"^\d+: (.*)$", matches, re.MULTILINE)
        edits = [{"old_text": line, "new_text": re.sub(r"\btotal\b", "sum_up", line)} for line in lines]
        await model.call("call it `sum_up` here", "edit_file", path=path, edits=edits)
    await model.call("is it gone everywhere", "search_files", path=project, query=r"\btotal\b")


async def release(model, project, guide):
    """4. The version, and what changed."""
    found = await model.call("where does the version stand", "search_files", path=project, query=r"1\.0\.0")
    settings = model.first(r"^([\w./-]+\.toml)$", found)
    line = model.first(r'(version = "\S+")')
    await model.call("raise the version", "edit_file", path=settings, edits=[{"old_text": line, "new_text": 'version = "1.1.0"'}])
    changes = model.first(r"^([\w./-]+/changes\.md)$", found)
    await model.call(
        "write down what changed",
        "edit_file",
        path=changes,
        edits=[
            {
                "old_text": "# Changes\n",
                "new_text": "# Changes\n\n## 1.1.0\n- `to_cents` loses no cent.\n- `total` is called `sum_up`.\n- `sales.md`, `prices.md`: how we sell, and at which prices.\n",
            }
        ],
    )
    await model.call("read it again", "read_file", path=changes)


PANDAS = "import pandas as pd\nsales = pd.read_csv('/roots/{table}', parse_dates=['date'])\nsales['amount'] = sales.pieces * sales.price\n"


async def analyse(model, guide, data):
    """5. The sales by month and by fruit, a plot, a table."""
    load = PANDAS.format(table=model.first(r"^[\w./-]+/sales\.csv"))
    await model.call("look over the data", "run_python", code=load + "print(sales.describe().round(2))")
    months = await model.call(
        "add up the months",
        "run_python",
        code=load + "months = sales.groupby(sales.date.dt.strftime('%Y-%m')).amount.sum().round(2)\nprint(months.to_string())",
    )
    fruits = await model.call(
        "add up the fruits",
        "run_python",
        code=load + "fruits = sales.groupby('fruit').amount.sum().round(2).sort_values(ascending=False)\nprint(fruits.to_string())",
    )
    await model.call(
        "draw the plot and write the table",
        "run_python",
        code=load
        + "import matplotlib.pyplot as plt\n"
        + "months = sales.groupby(sales.date.dt.strftime('%Y-%m')).amount.sum().round(2)\n"
        + "months.plot.bar(title='Sales by month')\n"
        + "plt.tight_layout()\n"
        + "plt.savefig('/roots/work/monthly.png')\n"
        + "months.to_csv('/roots/work/monthly.csv')",
    )
    made = await model.call("see what was made", "list_directory", path="work")
    plot, table = model.first(r"^([\w./-]+\.png)  "), model.first(r"^(work/\S+\.csv)  ")
    for path, folder in [(plot, guide), (table, data)]:
        name = path.rsplit("/", 1)[1]
        await model.call(f"put {name} where it belongs", "move_file", **{"from": path, "to": f"{folder}/{name}"})
    await model.call("is it there", "file_info", path=f"{guide}/monthly.png")
    await model.call("look at the plot", "read_file", path=f"{guide}/monthly.png")
    await model.call("look at the table", "read_file", path=f"{data}/monthly.csv")
    rows = lambda text: "".join(f"| {name} | {amount} |\n" for name, amount in re.findall(r"^([\w./-]+) +(\d+\.\d+)$", text, re.MULTILINE))
    await model.call(
        "write the summary",
        "write_file",
        path=f"{guide}/sales.md",
        content="# Sales\n\n![By month](monthly.png)\n\n| month | amount |\n|---|---|\n" + rows(months) + "\n| fruit | amount |\n|---|---|\n" + rows(fruits),
    )


async def compare(model, guide, data):
    """6. The cooperative's prices beside ours."""
    page = await model.call("read the cooperative's prices", "fetch", url=model.first(r"http://\S+/prices", "the task"))
    theirs = dict(re.findall(r"^\| *([a-z]+) *\| *(\d\.\d\d) *\|", page, re.MULTILINE))
    load = PANDAS.format(table=model.first(r"^[\w./-]+/sales\.csv"))
    ours = await model.call("our own prices", "run_python", code=load + "print(sales.groupby('fruit').price.first().to_string())")
    rows = [f"| {fruit} | {price} | {theirs[fruit]} |\n" for fruit, price in re.findall(r"^([a-z]+) +(\d\.\d+)$", ours, re.MULTILINE) if fruit in theirs]
    await model.call(
        "write the comparison",
        "write_file",
        path=f"{guide}/prices.md",
        content="# Prices\n\n| fruit | ours | the cooperative's |\n|---|---|---|\n" + "".join(rows),
    )
    await model.call("read it again", "read_file", path=f"{guide}/prices.md")


async def tidy(model, project, guide):
    """7. The ideas into a folder, the old scripts away."""
    await model.call("make the folder", "create_directory", path=f"{guide}/notes")
    ideas = model.first(r"^[\w./-]+/ideas\.txt")
    await model.call("put the ideas there", "move_file", **{"from": ideas, "to": f"{guide}/notes/ideas.txt"})
    scripts = model.first(r"^([\w./-]+/scripts)/")
    listed = await model.call("which scripts are there", "list_directory", path=scripts)
    script = re.search(r"^([\w./-]+\.py)  ", listed, re.MULTILINE).group(1)
    await model.call("what is it", "read_file", path=script)
    name = script.rsplit("/", 1)[1].removesuffix(".py")
    await model.call("does anything use it", "search_files", path=project, query=name)
    await model.call("has it a test", "search_files", path=tests_of(model), query=name)
    await model.call("delete the folder", "delete_file", path=scripts, recursive=True)


def tests_of(model):
    return model.first(r"^[\w./-]+/test_money\.py").rsplit("/", 1)[0]


async def finish(model, project, tests):
    """8. The tests, and the project as it is now."""
    code = model.first(r"^([\w./-]+)/money\.py")
    await model.call("do the tests pass", "run_python", code=run_tests(code, tests))
    await model.call("see the project now", "list_directory", path=project, depth=4)
    months = model.first(r"^[\w./-]+/monthly\.csv")
    agree = PANDAS.format(table=model.first(r"^[\w./-]+/sales\.csv"))
    agree += f"print(round(sales.amount.sum() - pd.read_csv('/roots/{months}').amount.sum(), 2))"
    await model.call("does the table agree with the data", "run_python", code=agree)
    await model.call("is anything of the old name left", "search_files", path=project, query=r"\btotal\(")
