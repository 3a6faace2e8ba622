"""`python -m onebit` is the program."""
from onebit._program import main

main()
