"""The settings of sphinx for the site. site/build.py runs it."""
import re
import sys
from pathlib import Path

SITE = Path(__file__).resolve().parent
sys.dont_write_bytecode = True
sys.path.insert(0, str(SITE / "extensions"))

project = "foliot"
version = re.search(r'FOLIOT_VERSION "(.*)"', (SITE.parent / "include/foliot/version.hpp").read_text())[1]
extensions = ["myst_parser", "breathe", "headers", "repository"]
foliot_root = str(SITE.parent)
nitpicky = True
nitpick_ignore_regex = [
    # What is not public has no page, and neither do other libraries.
    (r"c(pp)?:.*", r"(std|asio|boost|fmt|uv|seam|detail|runtime::detail|with_(boost_)?asio)(::.*)?|.*\bdetail::.*|uv_\w+|UV_\w+|event_base|ev_(loop|run|io)\w*|EV\w+|G[A-Z]\w+|G_\w+|sd_event(_source)?|SD_EVENT_\w+|sockaddr\w*|error_code"),
    (r"c(pp)?:.*", r"u?int\d+_t|size_t|bool|co_await|SIG[A-Z]+|utc_time::max|timer_node::nowhere"),
    (r"cpp:.*", r"or_error<.*>|channel_handle|timer_receive|operation_awaiter<.*>"),  # details that members name without `detail`
    (r"cpp:.*", r"(wheel|pool|clock_type)(::.*)?|result<Case>"),         # depend on a template's parameter
    # The namespaces themselves; and sphinx looks for these with their arguments, and not for the template.
    (r"cpp:.*", r"foliot(::(client|jobs|runtime|schedule|seam))?|jobs|runtime|schedule|tls|(shared_)?callable<.*>|task(<.*>)?"),
]

# Markdown as GitHub has it: no roles, no targets, no comments. The navigation is a directive.
myst_heading_anchors = 6
myst_disable_syntax = ["myst_role", "myst_target", "myst_block_break", "myst_line_comment"]
smartquotes = False
highlight_language = "none"

breathe_show_include = False  # the section of the header says it
breathe_default_project = "foliot"
breathe_domain_by_extension = {"h": "c", "hpp": "cpp"}

templates_path = [str(SITE / "templates")]
html_theme = "furo"
html_title = f"foliot {version}"
html_static_path = [str(SITE / "static")]
html_css_files = ["site.css"]
html_copy_source = False
html_show_copyright = False
html_show_sphinx = False


def add_navigation(app, docname, source):
    """The start page is README.md, and the navigation is below it."""
    if docname == "index":
        source[0] += "\n" + (SITE / "navigation.md").read_text(encoding="utf-8")


def setup(app):
    app.connect("source-read", add_navigation)
