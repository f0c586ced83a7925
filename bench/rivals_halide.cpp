/* Simplifies expressions in postfix form with Halide's simplifier (PyPI: halide), for bench/rivals.py.
 *
 * A line of input has fields separated by tabs:
 *   NAME LO HI NAME LO HI ..   the variables with their bounds (the first field)
 *   A LO HI POSTFIX            an expression that is known to be in [LO, HI]
 *   R POSTFIX                  a result of the map, which is simplified
 * POSTFIX has numbers, names and + - * / % min max, separated by spaces. A line of output has the microseconds of the
 * calls of simplify (the minimum of several repetitions), and the text of each result. */
#include "Halide.h"

#include <chrono>
#include <iostream>
#include <sstream>

using namespace Halide;
using namespace Halide::Internal;

static Expr read(std::istream &in) {
  std::vector<Expr> stack;
  std::string word;
  while (in >> word) {
    if (isdigit(word[0]) || (word[0] == '-' && word.size() > 1)) {
      stack.push_back(IntImm::make(Int(32), std::stoll(word)));
    } else if (word.size() == 1 || word == "min" || word == "max") {
      Expr b = stack.back(), a = stack[stack.size() - 2];
      stack.resize(stack.size() - 2);
      stack.push_back(word == "+"     ? Add::make(a, b)
                      : word == "-"   ? Sub::make(a, b)
                      : word == "*"   ? Mul::make(a, b)
                      : word == "/"   ? Div::make(a, b)
                      : word == "%"   ? Mod::make(a, b)
                      : word == "min" ? Min::make(a, b)
                                      : Max::make(a, b));
    } else {
      stack.push_back(Variable::make(Int(32), word));
    }
  }
  return stack.back();
}

int main(int argc, char **argv) {
  int repeats = argc > 1 ? std::stoi(argv[1]) : 1;
  std::string line, field, name, kind;
  while (std::getline(std::cin, line)) {
    std::istringstream fields(line);
    Scope<Interval> bounds;
    std::vector<Expr> assumptions, results, answers;
    double best = 1e30;
    int lo, hi;
    std::getline(fields, field, '\t');
    std::istringstream variables(field);
    while (variables >> name >> lo >> hi) bounds.push(name, Interval(lo, hi));
    while (std::getline(fields, field, '\t')) {
      std::istringstream words(field);
      words >> kind;
      if (kind == "A") words >> lo >> hi;
      Expr e = read(words);
      if (kind == "A") {
        assumptions.push_back(e >= lo);
        assumptions.push_back(e <= hi);
      } else {
        results.push_back(e);
      }
    }
    for (int i = 0; i < repeats; ++i) {
      auto start = std::chrono::steady_clock::now();
      answers.clear();
      for (const Expr &e : results) answers.push_back(simplify(e, true, bounds, Scope<ModulusRemainder>::empty_scope(), assumptions));
      best = std::min(best, std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count());
    }
    std::cout << best;
    for (const Expr &e : answers) std::cout << "\t" << e;
    std::cout << std::endl;
  }
}
