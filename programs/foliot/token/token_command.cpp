#include "token.hpp"

#include <memory>
#include <string>
#include <vector>

#include "commands.hpp"

namespace foliot::program {

namespace {

struct token_arguments {
  token_options options;
  std::vector<std::string> revoked;
};

void add_file(CLI::App& line, token_arguments& all, const char* text) {
  line.add_option("FILE", all.options.file, text)->type_name("")->required();
}

void add_make(CLI::App& token, const std::shared_ptr<token_arguments>& all, command& chosen) {
  CLI::App* line = token.add_subcommand("make", "Make an access token, and print it: it is not shown again");
  add_file(*line, *all, "The file of access tokens; made if it is missing");
  line->add_option("--name", all->options.name, "Whose it is, and what for")->type_name("NAME")->required();
  line->add_option("--scopes", all->options.scopes,
                   "What it allows: some of put, reserve, look, change and\n"
                   "administer, with commas between them")
      ->type_name("SCOPES")
      ->required();
  line->add_option("--tubes", all->options.tubes,
                   "Which tubes: beginnings of their names, with commas between\n"
                   "them, or * for all tubes")
      ->type_name("PREFIXES")
      ->capture_default_str();
  line->add_option("--ends", all->options.ends,
                   "When it ends: a time such as 2027-01-01T00:00:00Z, a duration\n"
                   "from now such as 90d, or never")
      ->type_name("WHEN")
      ->required();
  line->add_option("--certificate", all->options.fingerprint,
                   "Give the rights to the clients with this certificate instead,\n"
                   "and print the id of the entry")
      ->type_name("FINGERPRINT")
      ->check([](const std::string& given) {  // as where openssl has failed: nobody is to get a token instead
        return given.empty() ? std::string("the fingerprint is empty") : std::string();
      });
  line->footer(
      "--name, --scopes and --ends are needed. The scopes:\n"
      "  put         put jobs\n"
      "  reserve     reserve jobs; finish, release, bury and touch them\n"
      "  look        see, count and list jobs and tubes\n"
      "  change      cancel, reschedule, fire and kick jobs\n"
      "  administer  pause and clear tubes\n"
      "\n"
      "A client of HTTP shows the token as 'Authorization: Bearer TOKEN', a client of\n"
      "beanstalkd by the line 'x-auth TOKEN' before all others.");
  line->callback([all, &chosen] { chosen = [all] { make_token(all->options); }; });
}

}  // namespace

void add_token(CLI::App& program, command& chosen) {
  const auto all = std::make_shared<token_arguments>();
  CLI::App* token = program.add_subcommand("token", "Make, list and revoke the access tokens of a server");
  token->require_subcommand(1);
  add_make(*token, all, chosen);
  CLI::App* list = token->add_subcommand("list", "Show who has access, and to what");
  add_file(*list, *all, "The file of access tokens");
  list->callback([all, &chosen] { chosen = [all] { list_tokens(all->options.file); }; });
  CLI::App* revoke = token->add_subcommand("revoke", "Take access away");
  add_file(*revoke, *all, "The file of access tokens");
  revoke->add_option("ID", all->revoked, "Of the entries, as 'foliot token list' shows them")
      ->type_name("")
      ->required();
  revoke->callback([all, &chosen] { chosen = [all] { revoke_tokens(all->options.file, all->revoked); }; });
  token->footer(
      "  foliot token make tokens --name 'the shop' --scopes put --tubes mail. --ends 365d\n"
      "  foliot token list tokens\n"
      "  foliot token revoke tokens 4f7k2m9q\n"
      "\n"
      "The server reads the file by 'foliot serve --tokens tokens', and again when it\n"
      "changes. It has the rights of each token and its SHA-256, not the token itself.\n"
      "People may edit it.");
}

}  // namespace foliot::program
