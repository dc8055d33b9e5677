package hydrotest.jobs;

/** One test of the suite; it checks its own answer. */
interface Test {
  /** Its name in experiment files. */
  String title();

  /** True if the answer is right. */
  boolean run(Data data);

  /** Creates its data, before anything is timed. */
  default void prepare(Data data) {}

  static Test named(String title) {
    for (Test[] suite : new Test[][] {CoreTest.values(), SqlTest.values(), LearningTest.values()}) {
      for (Test test : suite) {
        if (test.title().equals(title)) {
          return test;
        }
      }
    }
    throw new IllegalArgumentException("there is no test " + title);
  }
}
