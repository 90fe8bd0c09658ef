"""Shows each open question and takes its answer from the standard input."""

import sluice


def main() -> None:
    client = sluice.Client()
    for question in client.question.list_all():
        choices = f" ({', '.join(question['choices'])})" if question["choices"] else ""
        text = input(f"{question['task']} asks: {question['question']}{choices} ")
        try:
            client.task.answer(question["task"], text=text)
        except sluice.ApiError as error:  # another person was faster, or it is not one of the choices
            print(f"not answered: {error.message}")


main()
